package needs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// missing returns an error if the tables, columns or rights do not suffice. Rights on a schema come
// first, because without them the tables in it seem to be missing.
func missing(product, user string, list []Table, found map[string]*relation) error {
	var absent, added, closed, schemas, paths []string
	for _, t := range list {
		r := found[t.Name]
		switch {
		case r != nil && r.visible || t.Optional:
		case r == nil:
			if absent = append(absent, t.Name); t.Added != "" {
				added = append(added, fmt.Sprintf("; %s has %s since %s", product, t.Name, t.Added))
			}
		case !r.usable:
			schemas = once(schemas, r.schema)
		default:
			paths = once(paths, r.schema)
		}
	}
	name := identifier(cmp.Or(user, "that user"))
	switch {
	case len(absent) > 0:
		return fmt.Errorf("the source has no table %s: is it the database of %s%s?", strings.Join(absent, ", "), product, strings.Join(added, ""))
	case len(schemas) > 0:
		return fmt.Errorf("the user of --source may not use the schema %s: GRANT USAGE ON SCHEMA %[1]s TO %[2]s", strings.Join(schemas, ", "), name)
	case len(paths) > 0:
		return fmt.Errorf("the tables of %s are in the schema %s, outside of the search_path of --source: ALTER ROLE %[3]s SET search_path TO %[2]s, public",
			product, strings.Join(paths, ", "), name)
	}
	for _, t := range list {
		r := found[t.Name]
		if r == nil {
			continue
		}
		for column := range strings.FieldsSeq(t.Columns) {
			switch since := t.Since[column]; {
			case !r.columns[column] && since != "":
				return fmt.Errorf("the source has no column %s.%s, which %s has since %s: update %[3]s first, then import", t.Name, column, product, since)
			case !r.columns[column]:
				return fmt.Errorf("the source has no column %s.%s: is it the database of a current %s?", t.Name, column, product)
			case !r.readable[column]:
				closed = once(closed, t.Name)
			}
		}
	}
	if len(closed) > 0 {
		return fmt.Errorf("the user of --source may not read %s: GRANT SELECT ON %[1]s TO %[2]s", strings.Join(closed, ", "), name)
	}
	return nil
}

func once(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// identifier returns a name in SQL.
func identifier(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
