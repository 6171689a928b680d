package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/tidemark/tidemark/internal/admin"
	"github.com/tidemark/tidemark/internal/config"
)

// callFlags say as whom a node is asked, and whom to trust.
type callFlags struct {
	TLSCA     string `name:"tls-ca" placeholder:"FILE" help:"PEM file of the authorities to trust if the node's URL is https; else the system's."`
	TokenFile string `placeholder:"FILE" help:"File with a token to ask with, if the node wants one; or give the token in $$TIDEMARK_TOKEN."`
}

// check checks the address that is given by a flag, and reads the files.
func (f *callFlags) check(flag, addr string) error {
	u, err := url.Parse(addr)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%s %q is no URL of a node: write it as http://127.0.0.1:8080", flag, addr)
	}
	if _, err := (config.TLS{CAFile: f.TLSCA}).Config(); err != nil {
		return fmt.Errorf("--tls-ca: %w", err)
	}
	_, err = f.token()
	return err
}

// http is the client to ask with.
func (f *callFlags) http() *http.Client {
	if c, err := (config.TLS{CAFile: f.TLSCA}).Config(); err == nil && f.TLSCA != "" { // check has read the file
		return &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
	}
	return http.DefaultClient
}

// token is what the node is asked with; empty: nothing.
func (f *callFlags) token() (string, error) {
	if f.TokenFile == "" {
		return strings.TrimSpace(os.Getenv("TIDEMARK_TOKEN")), nil
	}
	b, err := os.ReadFile(f.TokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// runningFlags name a node that runs, for a verb that else works on the stores of one that is stopped.
type runningFlags struct {
	Node string `placeholder:"URL" help:"URL of the node, if it runs: it has its stores to itself, and does what has to be done with them."`
	callFlags
}

func (f *runningFlags) check() error {
	if f.Node == "" {
		return nil
	}
	return f.callFlags.check("--node", f.Node)
}

func (f *runningFlags) admin() *admin.Client {
	token, _ := f.token() // check has read the file
	return &admin.Client{URL: f.Node, Token: token, HTTP: f.http()}
}
