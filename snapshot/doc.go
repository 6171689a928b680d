// Package snapshot copies the stores of partitions to object storage and brings them back (DESIGN §11).
//
//	bucket.go    what is needed of object storage     dir.go, s3.go   a directory; S3 and what speaks like it
//	manifest.go  what a snapshot says about itself    layout.go       where things are in a bucket
//	create.go    checkpoint, upload, manifest last    restore.go      download, verify everything, move into place
//	list.go      which snapshots there are            verify.go       the same checks without keeping anything
//	prune.go     what nobody needs any more           repository.go   options, clock, progress
//
// What stays true, whoever is killed or wakes up late:
//
//   - A manifest is written after all files that it names, and only in place of one that its position dominates. The
//     object store decides that, in one conditional write (create.go).
//   - A file is uploaded under the hash of its content and never changed. A creator relies on a file that is there
//     already only if the manifest that it is about to replace names it, or if it is too young to be pruned (create.go).
//   - So what prune removes (named by no manifest, and older than the grace period) can never be named again (prune.go).
//   - A restored store comes into place by one rename, after the size and hash of each file and the digest of all
//     records were found right (restore.go).
//
// Which snapshot a partition starts from, and what happens if there is none, is decided in package processor.
package snapshot
