//! Host selection, allocation, release (spec/04).
