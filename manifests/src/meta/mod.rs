//! Conditions, names, labels, durations, free-form JSON, YAML.
