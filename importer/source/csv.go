package source

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readCSV reads rows after a first line of column names. An empty field is NULL, and so is \N.
func readCSV(ctx context.Context, name, table string, from io.Reader, fn func(*Row) error) error {
	r := csv.NewReader(bufio.NewReaderSize(from, 1<<20))
	r.ReuseRecord, r.FieldsPerRecord = true, -1
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	row := &Row{Table: table}
	for _, column := range head {
		row.columns = append(row.columns, strings.TrimSpace(strings.TrimPrefix(column, "\ufeff")))
	}
	row.values, row.null = make([]string, len(head)), make([]bool, len(head))
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(fields) != len(head) {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%s: line %d has %d fields, but the first line names %d columns", name, line, len(fields), len(head))
		}
		row.Number++
		for i, text := range fields {
			row.values[i], row.null[i] = text, text == "" || text == `\N`
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}
