// SPDX-License-Identifier: Apache-2.0
//! Finds libtracesmith.so: in TRACESMITH_LIB_DIR, by pkg-config, or where the linker looks anyway.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TRACESMITH_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=dylib=tracesmith");
    if let Ok(folder) = std::env::var("TRACESMITH_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder);
        return;
    }
    let found = Command::new("pkg-config").args(["--libs-only-L", "tracesmith"]).output();
    if let Ok(output) = found {
        for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={}", folder);
            }
        }
    }
}
