// Package markup has the texts of products that are more than text.
//
//	slack.go   links, names and escapes of Slack
//	tinode.go  the contents of Tinode's messages
package markup
