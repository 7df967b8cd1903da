//! Open Cluster Management: cluster, work and addon groups, partial (spec/07).
