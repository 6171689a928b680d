package apidoc

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// OpenAPI describes the calls of a node as plain JSON. Streams are left out: OpenAPI has no words
// for Connect's frames.
func OpenAPI(notes map[string]string) map[string]any {
	s := &schemas{notes, object{}}
	s.all["Error"] = object{
		"type": "object", "description": "Why a call was refused.", "required": []any{"code"},
		"properties": object{
			"code": object{"type": "string", "enum": []any{
				"invalid_argument", "not_found", "unauthenticated", "permission_denied", "resource_exhausted", "unavailable", "unimplemented", "internal",
				"canceled", "deadline_exceeded", "unknown",
			}},
			"message": object{"type": "string", "description": "One sentence that names the field and the limit."},
			"details": object{"type": "array", "items": object{"type": "object"}},
		},
	}
	paths := object{}
	var tags []any
	for _, file := range []protoreflect.FileDescriptor{queryv1.File_tidemark_query_v1_query_proto, ingestv1.File_tidemark_ingest_v1_ingest_proto} {
		service := file.Services().Get(0)
		tags = append(tags, object{"name": string(service.Name()), "description": notes[string(service.FullName())]})
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			if m.IsStreamingServer() {
				continue
			}
			answer := func(text string, schema object) object {
				return object{"description": text, "content": object{"application/json": object{"schema": schema}}}
			}
			paths["/"+string(service.FullName())+"/"+string(m.Name())] = object{"post": object{
				"operationId": string(m.Name()), "tags": []any{string(service.Name())}, "description": notes[string(m.FullName())],
				"requestBody": object{"required": true, "content": object{"application/json": object{"schema": s.add(m.Input())}}},
				"responses": object{
					"200":     answer("The answer.", s.add(m.Output())),
					"default": answer("A refusal. With 429 and 503, Retry-After says when to call again.", ref("Error")),
				},
			}}
		}
	}
	return object{
		"openapi": "3.0.3",
		"info": object{
			"title": "Tidemark", "version": "v1", "license": object{"name": "see LICENSE", "url": "https://github.com/tidemark/tidemark/blob/main/LICENSE"},
			"description": "Unread counts, read pointers and receipts. Generated from events/proto; docs/query-api.md has the rules.",
		},
		"servers":  []any{object{"url": "http://127.0.0.1:8080", "description": "tidemark dev"}},
		"tags":     tags,
		"security": []any{object{"token": []any{}}, object{}},
		"paths":    paths,
		"components": object{
			"schemas":         s.all,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
		},
	}
}
