// Package codec decodes requests and encodes answers of the query services.
//
//	json.go     the JSON of these services: snake_case, and an unknown field is an error
//	bounds.go   limits of decoded requests; the Protobuf codec
package codec
