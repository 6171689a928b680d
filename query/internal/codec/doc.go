// Package codec decodes requests and encodes answers of the query services.
//
//	json.go     JSON as these services speak it: snake_case, and an unknown field is an error
//	bounds.go   how much a request may decode into; the Protobuf codec
package codec
