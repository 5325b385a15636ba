// SPDX-License-Identifier: Apache-2.0
//! Prints what this crate declares, for tests/bindings/layout.py.

fn main() {
    for (name, member, offset, size) in tracesmith_sys::layouts() {
        println!("struct {} {} {} {}", name, member, offset, size);
    }
    for (name, count) in tracesmith_sys::FUNCTIONS {
        println!("function {} {}", name, count);
    }
}
