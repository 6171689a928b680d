// Package quote writes texts into SQL.
package quote

import "strings"

// Literal returns a text as a literal in SQL, where the database takes backslashes as they are.
func Literal(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "'", "''") + "'"
}

// Literals returns texts as a list in SQL.
func Literals(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = Literal(text)
	}
	return strings.Join(quoted, ", ")
}
