package sqlsink

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/tidemark/tidemark/internal/jsonw"
)

// copyText builds rows in the text format of COPY. Each method appends one field, and end ends the
// row.
type copyText struct {
	b       []byte
	scratch []byte
}

// end makes the last separator the end of the row.
func (c *copyText) end() { c.b[len(c.b)-1] = '\n' }

func (c *copyText) null() { c.b = append(c.b, `\N`+"\t"...) }

// text appends a text. PostgreSQL accepts neither 0x00 nor invalid UTF-8 in a text; no valid id
// contains them.
func (c *copyText) text(s []byte) {
	if !utf8.Valid(s) || bytes.IndexByte(s, 0) >= 0 {
		s = bytes.ReplaceAll(bytes.ToValidUTF8(s, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
	}
	c.escape(s)
	c.b = append(c.b, '\t')
}

// id appends a text, or NULL for the empty one.
func (c *copyText) id(s []byte) {
	if len(s) == 0 {
		c.null()
		return
	}
	c.text(s)
}

func (c *copyText) escape(s []byte) {
	for _, x := range s {
		switch x {
		case '\\':
			c.b = append(c.b, `\\`...)
		case '\t':
			c.b = append(c.b, `\t`...)
		case '\n':
			c.b = append(c.b, `\n`...)
		case '\r':
			c.b = append(c.b, `\r`...)
		default:
			c.b = append(c.b, x)
		}
	}
}

func (c *copyText) bool(is bool) {
	if is {
		c.b = append(c.b, 't', '\t')
	} else {
		c.b = append(c.b, 'f', '\t')
	}
}

func (c *copyText) uint(v uint32) { c.b = append(strconv.AppendUint(c.b, uint64(v), 10), '\t') }

func (c *copyText) int(v int64) { c.b = append(strconv.AppendInt(c.b, v, 10), '\t') }

// seq appends a number, or NULL for 0.
func (c *copyText) seq(v uint32) {
	if v == 0 {
		c.null()
		return
	}
	c.uint(v)
}

// time appends a time in Unix milliseconds, or NULL.
func (c *copyText) time(millis int64, is bool) {
	if !is {
		c.null()
		return
	}
	c.b = append(jsonw.AppendTime(c.b, millis), '\t')
}

// positions appends ascending positions as a multirange.
func (c *copyText) positions(list []uint32) {
	c.b = append(c.b, '{')
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] <= list[j-1]+1 {
			j++
		}
		if i > 0 {
			c.b = append(c.b, ',')
		}
		c.b = strconv.AppendUint(append(c.b, '['), uint64(list[i]), 10)
		c.b = append(strconv.AppendUint(append(c.b, ','), uint64(list[j-1])+1, 10), ')')
		i = j
	}
	c.b = append(c.b, '}', '\t')
}

// texts appends an array of texts.
func (c *copyText) texts(list [][]byte) {
	s := append(c.scratch[:0], '{')
	for i, text := range list {
		if i > 0 {
			s = append(s, ',')
		}
		s = append(s, '"')
		for _, x := range text {
			if x == '"' || x == '\\' {
				s = append(s, '\\')
			}
			s = append(s, x)
		}
		s = append(s, '"')
	}
	c.scratch = append(s, '}')
	c.text(c.scratch)
}
