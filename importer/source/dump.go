package source

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxDocument bounds a document. MongoDB itself accepts none above 16 MiB.
const maxDocument = 64 << 20

// firstDate and lastDate are the first and the last time that can be written as text, in Unix
// milliseconds.
var (
	firstDate = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastDate  = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// Dump reads the files that mongodump has written of one database. A table NAME is the collection
// in NAME.bson or NAME.bson.gz. Its query names the fields to read, by their paths, separated by
// spaces.
type Dump struct{ path string }

// OpenDump checks that the folder exists.
func OpenDump(path string) (*Dump, error) {
	if err := checkFolder(path, "it is the folder that mongodump has written of a database, with a file NAME.bson for each collection"); err != nil {
		return nil, err
	}
	return &Dump{path}, nil
}

// Close has nothing to release.
func (d *Dump) Close(context.Context) error { return nil }

// Rows reads the documents of a collection. A field that a document lacks is NULL.
func (d *Dump) Rows(ctx context.Context, table, query string, fn func(*Row) error) (found bool, err error) {
	name := table + ".bson"
	file, err := os.Open(filepath.Join(d.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		name += ".gz"
		file, err = os.Open(filepath.Join(d.path, name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the source: %w", err)
	}
	defer file.Close()
	from := io.Reader(file)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(file)
		if err != nil {
			return true, fmt.Errorf("%s: %w", name, err)
		}
		from = z
	}
	return true, readBSON(ctx, name, table, strings.Fields(query), bufio.NewReaderSize(from, 1<<20), fn)
}

// readBSON reads documents one after the other.
func readBSON(ctx context.Context, name, table string, columns []string, from io.Reader, fn func(*Row) error) error {
	row := &Row{Table: table, columns: columns, values: make([]string, len(columns)), null: make([]bool, len(columns))}
	paths := make([][]string, len(columns))
	for i, column := range columns {
		paths[i] = strings.Split(column, ".")
	}
	var buf []byte
	for {
		row.Number++
		var err error
		if buf, err = readDocument(from, buf); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = bson.Raw(buf).Validate()
		}
		if err != nil {
			return fmt.Errorf("%s: document %d is damaged: %w: was the file copied whole?", name, row.Number, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, path := range paths {
			row.values[i], row.null[i] = "", true
			if v, err := bson.Raw(buf).LookupErr(path...); err == nil {
				row.values[i], row.null[i] = bsonText(v)
			}
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// readDocument reads a document, into buf if it is large enough. It returns io.EOF at the end.
func readDocument(from io.Reader, buf []byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return buf, err
	}
	n := int64(binary.LittleEndian.Uint32(length[:]))
	if n < 5 || n > maxDocument {
		return buf, fmt.Errorf("its length is %d", n)
	}
	if int64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = append(buf[:0], length[:]...)[:n]
	if _, err := io.ReadFull(from, buf[4:]); err != nil {
		return buf, io.ErrUnexpectedEOF
	}
	return buf, nil
}

// bsonText returns a value as text: lists and documents as JSON.
func bsonText(v bson.RawValue) (text string, null bool) {
	switch v.Type {
	case bson.TypeNull, bson.TypeUndefined:
		return "", true
	case bson.TypeString:
		return v.StringValue(), false
	case bson.TypeObjectID:
		return v.ObjectID().Hex(), false
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean()), false
	case bson.TypeInt32:
		return strconv.FormatInt(int64(v.Int32()), 10), false
	case bson.TypeInt64:
		return strconv.FormatInt(v.Int64(), 10), false
	case bson.TypeDouble:
		return strconv.FormatFloat(v.Double(), 'f', -1, 64), false
	case bson.TypeDateTime:
		at := time.UnixMilli(min(max(v.DateTime(), firstDate), lastDate)) // other times cannot be written as text
		return at.UTC().Format(time.RFC3339Nano), false
	}
	return v.String(), false
}
