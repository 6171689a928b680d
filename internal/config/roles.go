package config

import (
	"fmt"
	"slices"
	"strings"
)

// Role is a part of a node.
type Role string

// The roles of `tidemark run`.
const (
	RoleProcessor Role = "processor" // folds and publishes the partitions that the group assigns
	RoleCache     Role = "cache"     // writes published values to Redis
	RoleQuery     Role = "query"     // answers queries and takes events
	RoleGateway   Role = "gateway"   // serves WebSockets; needs query
	RoleSQL       Role = "sql"       // writes published values to PostgreSQL
)

// Roles is a set of roles, without duplicates.
type Roles []Role

// ParseRoles reads the names of roles.
func ParseRoles(names []string) (Roles, error) {
	known := []Role{RoleProcessor, RoleCache, RoleQuery, RoleGateway, RoleSQL}
	var roles Roles
	for _, name := range names {
		r := Role(strings.TrimSpace(name))
		if !slices.Contains(known, r) {
			return nil, fmt.Errorf("there is no role %q: the roles are processor, cache, query, gateway and sql", name)
		}
		if !roles.Has(r) {
			roles = append(roles, r)
		}
	}
	if len(roles) == 0 {
		return nil, fmt.Errorf("a node needs at least one role: processor, cache, query, gateway or sql")
	}
	return roles, nil
}

// Has reports whether r is among the roles.
func (rs Roles) Has(r Role) bool { return slices.Contains(rs, r) }

// String returns the roles in the form of --roles.
func (rs Roles) String() string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r)
	}
	return strings.Join(names, ",")
}
