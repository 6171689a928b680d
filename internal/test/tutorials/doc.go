// Package tutorials runs the code of docs/tutorials and docs/start against a node, and computes the
// examples of docs/sizing.md and docs/scale.md. It has tests only.
package tutorials
