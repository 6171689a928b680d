package config

import (
	"strings"
	"testing"
)

func TestRoles(t *testing.T) {
	roles, err := ParseRoles([]string{"query", " processor", "query"})
	if err != nil || roles.String() != "query,processor" || !roles.Has(RoleQuery) || roles.Has(RoleCache) {
		t.Errorf("%v, %v", roles, err)
	}
	for _, names := range [][]string{nil, {"page"}, {"Query"}, {""}} {
		if roles, err := ParseRoles(names); err == nil || !strings.Contains(err.Error(), "cache") {
			t.Errorf("%q: %v, %v; want an error that names the roles", names, roles, err)
		}
	}
}
