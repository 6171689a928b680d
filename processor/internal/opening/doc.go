// Package opening decides where the fold of a partition begins, and up to where it publishes
// nothing, from the position of its store and from what the cluster knows of it.
package opening
