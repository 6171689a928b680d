// Package manual runs the commands of docs/reference.md, docs/import and docs/deploy.md against
// nodes, and compares what they print with the pages. It has tests only.
package manual
