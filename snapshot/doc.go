// Package snapshot copies the stores of partitions to object storage and brings them back
// (DESIGN §11).
//
//	repository.go  the snapshots of one prefix: options, clock, listing
//	bucket.go      the operations of object storage that snapshots use
//	dir.go         a directory as a bucket; lock_unix.go and lock_other.go lock its files
//	s3.go          S3 and compatible stores
//	gcs.go         Google Cloud Storage; azure.go: Azure Blob Storage; endpoint.go: what they share
//	layout.go      names in a bucket
//	manifest.go    the description of a snapshot
//	create.go      checkpoint, upload, manifest last
//	compact.go     compacting a store before a snapshot that would share little
//	check.go       the store is checked, and its files are hashed, before it becomes a snapshot
//	upload.go      the files of a snapshot, each under the hash of its content
//	restore.go     download, verify everything, move into place
//	prune.go       removing snapshots and files that are no longer needed
//	progress.go    the progress of work on a snapshot
//	probe.go       testing whether a bucket can be written and read
//
// Invariants, whichever process is killed or resumes late:
//
//   - A manifest is written after all files that it names, and only in place of one that its
//     position dominates. The object store enforces this, in one conditional write (create.go).
//   - A file is uploaded under the hash of its content and never changed. A creator relies on a
//     file that is there already only if the manifest that it is about to replace names it, or if
//     it is too young to be pruned (create.go).
//   - So no later manifest can name a file that prune removes: one that no manifest names and that
//     is older than the grace period (prune.go).
//   - A restored store comes into place by one rename, after the size and hash of each file and the
//     digest of all records were verified (restore.go).
//
// Package processor decides which snapshot a partition starts from, and what happens without one.
package snapshot
