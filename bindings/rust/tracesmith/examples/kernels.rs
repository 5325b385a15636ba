// SPDX-License-Identifier: Apache-2.0
//! Lists kernels by the time that they took on the device.

use std::collections::HashMap;

use tracesmith::{Filter, Reader, TimeKind};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("which trace?")?;
    let reader = Reader::open(path)?;
    let commands = reader.commands(&Filter::default())?;
    let mut totals: HashMap<String, (u64, u64)> = HashMap::new();
    for i in 0..commands.len() {
        if let (Some(kernel), (TimeKind::Measured, ns)) = (commands.kernel_name(i), commands.device_ns(i)) {
            let total = totals.entry(kernel.into_owned()).or_default();
            *total = (total.0 + ns, total.1 + 1);
        }
    }
    let mut rows: Vec<_> = totals.into_iter().collect();
    rows.sort_by_key(|(name, (ns, _))| (std::cmp::Reverse(*ns), name.clone()));
    for (name, (ns, count)) in rows {
        println!("{} ns in {} launches of {}", ns, count, name);
    }
    Ok(())
}
