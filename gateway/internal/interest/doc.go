// Package interest knows which shards of a gateway have which channel.
package interest
