package auth

import (
	"encoding/json"
	"strings"
)

// Scopes are the rights of a token beyond those of every user for themselves.
type Scopes uint8

const (
	// ScopeRead is for queries about everybody.
	ScopeRead Scopes = 1 << iota
	// ScopePublish is for all events except erasures.
	ScopePublish
	// ScopeErase is for the event user_erased.
	ScopeErase
	// ScopeAdmin is for operators: /admin/, and the page.
	ScopeAdmin

	// ScopeService allows everything of the others.
	ScopeService = ScopeRead | ScopePublish | ScopeErase | ScopeAdmin
)

// scopeNames are the names of scopes in tokens, in the order of their bits.
var scopeNames = [...]string{"read", "publish", "erase", "admin"}

// serviceName is the name in tokens for all scopes.
const serviceName = "service"

// May reports whether the bearer has all of some scopes.
func (s Scopes) May(all Scopes) bool { return s&all == all }

// String returns the scopes in the form of a token, separated by spaces; empty: none.
func (s Scopes) String() string {
	if s.May(ScopeService) {
		return serviceName
	}
	var list []string
	for i, name := range scopeNames {
		if s.May(1 << i) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// ParseScopes is String's inverse. Words that name no scope belong to other systems and grant
// nothing.
func ParseScopes(text string) Scopes { return scopesOf(strings.Fields(text)) }

func scopesOf(list []string) (s Scopes) {
	for _, word := range list {
		if word == serviceName {
			s |= ScopeService
		}
		for i, name := range scopeNames {
			if word == name {
				s |= 1 << i
			}
		}
	}
	return s
}

// words is a claim that is a list, or words separated by spaces.
type words []string

// UnmarshalJSON reads both forms.
func (w *words) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*w = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(w))
}
