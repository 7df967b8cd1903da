//! The OCM add-on contract: registration, CSR approval, deploy works, health (spec/07 part 2).
