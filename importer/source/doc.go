// Package source reads rows: from a PostgreSQL database as of one moment, or from files in a
// folder. It does not depend on any product. The fields of a row are text, whatever their type in
// the source.
//
//	row.go       rows and their fields
//	folder.go    a folder of CSV or NDJSON files
//	csv.go       rows of a CSV file
//	ndjson.go    rows of a file with a JSON object a line
//	arrays.go    a folder of JSON arrays
//	dump.go      the BSON of a MongoDB database that mongodump has written
//	postgres.go  a PostgreSQL database
//	slot.go      a replication slot, and the log that it holds back
//	publication.go  the publications that a slot needs
//	stream.go    the changes of a database, transaction by transaction
//	moment.go  the transactions that a snapshot includes
//	debezium.go  a change as Debezium writes it
//	document.go  a change of a document of MongoDB as Debezium writes it
//	words.go     what an error of a database means, and its remedy
package source
