package verbs

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/internal/config"
)

// callFlags set the token of calls to a node, and the authorities to trust.
type callFlags struct {
	TLSCA     string `name:"tls-ca" placeholder:"FILE" help:"PEM file of the authorities that sign the node's certificate, if its URL is https; by default the system's."`
	TokenFile string `placeholder:"FILE" help:"File with a token, if the node requires one; or set the token in $$TIDEMARK_TOKEN."`
}

// Check checks the address in a flag, and reads the files.
func (f *callFlags) check(flag, addr string) error {
	u, err := url.Parse(addr)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("%s %q is not the URL of a node: write it as http://127.0.0.1:8080", flag, addr)
	}
	if _, err := (config.TLS{CAFile: f.TLSCA}).Config(); err != nil {
		return fmt.Errorf("--tls-ca: %w", err)
	}
	_, err = f.token()
	return err
}

// http returns the client for calls.
func (f *callFlags) http() *http.Client {
	if c, err := (config.TLS{CAFile: f.TLSCA}).Config(); err == nil && f.TLSCA != "" { // check has read the file
		return &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
	}
	return http.DefaultClient
}

// token returns the token for calls; empty: none.
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

// RunningFlags name a running node, for a verb that otherwise works on the stores of a stopped one.
type RunningFlags struct {
	Node    string `placeholder:"URL" help:"URL of the node, if it runs: a running node locks its stores, so it copies them itself."`
	Context string `placeholder:"NAME" help:"The node of this context, with its token, instead of --node: see tidemark context. The variable and the current context have no effect here."`
	callFlags
}

// Check checks the address, if there is one, and reads the files.
func (f *RunningFlags) Check() error {
	if f.Node == "" {
		return nil
	}
	return f.check("--node", f.Node)
}

// Admin is the client of the node.
func (f *RunningFlags) Admin() *admin.Client {
	token, _ := f.token() // check has read the file
	return &admin.Client{URL: f.Node, Token: token, HTTP: f.http()}
}

// CheckNode checks the address in a flag, and reads the files.
func CheckNode(flag, addr, tokenFile, tlsCA string) error {
	f := callFlags{TokenFile: tokenFile, TLSCA: tlsCA}
	return f.check(flag, addr)
}
