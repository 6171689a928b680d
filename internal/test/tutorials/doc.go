// Package tutorials runs the code of README.md, docs/tutorials, docs/start and the pages of the
// clients against a node, and computes the examples of docs/sizing.md and docs/scale.md. It has
// tests only.
package tutorials
