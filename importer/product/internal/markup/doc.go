// Package markup converts texts with markup of products into plain text.
//
//	slack.go   links, names and escapes of Slack
//	tinode.go  the contents of Tinode's messages
package markup
