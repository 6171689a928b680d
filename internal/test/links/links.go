package main

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/internal/test/docs"
)

// own is the address of the repository: tests look at the files that links to it name.
const own = "https://github.com/tidemark/tidemark"

// link is the address of another site, and the pages that have it.
type link struct {
	url   string
	pages []string
}

func (l link) String() string { return fmt.Sprintf("%s in %s", l.url, strings.Join(l.pages, ", ")) }

var address = regexp.MustCompile("https?://[^\\s)>\"'`|\\]]+")

// linksOf returns the links of the documents below root to other sites, sorted by address.
func linksOf(root string) ([]link, error) {
	pages, err := docs.Pages(root)
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, text := range address.FindAllString(pages[page], -1) {
			text = strings.TrimRight(text, ".,;:")
			if isOther(text) && !slices.Contains(found[text], page) {
				found[text] = append(found[text], page)
			}
		}
	}
	var links []link
	for _, text := range slices.Sorted(maps.Keys(found)) {
		links = append(links, link{text, found[text]})
	}
	return links, nil
}

// isOther reports whether an address is that of another site, and not of an example, of a machine
// without a domain, or of this repository.
func isOther(text string) bool {
	u, err := url.Parse(text)
	if err != nil || strings.HasPrefix(text, own) {
		return false
	}
	host := u.Hostname()
	labels := strings.Split(host, ".")
	return len(labels) > 1 && net.ParseIP(host) == nil && !strings.Contains(host, "$") && !slices.Contains(labels, "example") &&
		!slices.Contains([]string{"svc", "local", "internal"}, labels[len(labels)-1])
}
