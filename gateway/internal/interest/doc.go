// Package interest records which shards of a gateway have which channel.
package interest
