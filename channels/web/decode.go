package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// drainBody is the maximum number of further bytes read from an oversized body. Reading them lets
// clients that send everything before they read receive the error.
const drainBody = 64 << 20

// readRawBody reads a body of up to MaxBody bytes.
func (s *Server) readRawBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // in-process requests have no deadline
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= MaxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r.Body, MaxBody+1))
	if err != nil {
		return nil, invalidFailure("the request ended after %d bytes: %v", n, err)
	}
	if n > MaxBody {
		_, _ = io.CopyN(io.Discard, r.Body, drainBody)
		return nil, newFailure(http.StatusRequestEntityTooLarge, "too_large", "send less, or save the text in a file and send the file name",
			"the request is larger than %d MB (limit for a message's text: %d MB)", MaxBody>>20, MaxText>>20)
	}
	_ = rc.SetReadDeadline(time.Time{})
	if !utf8.Valid(b.Bytes()) {
		return nil, notUTF8(b.Bytes())
	}
	return b.Bytes(), nil
}

func notUTF8(b []byte) error {
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return newFailure(http.StatusBadRequest, "invalid_utf8", "send the text as UTF-8", "the request is not valid UTF-8 (byte %d)", at)
}

// readJSONBody decodes a JSON object strictly: unknown fields are errors. An empty body is treated
// as {}.
func (s *Server) readJSONBody(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := s.rawJSON(w, r)
	if err != nil {
		return err
	}
	return unmarshalOne(b, v, true)
}

// rawJSON reads a body whose content type is JSON or missing.
func (s *Server) rawJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if t := r.Header.Get("Content-Type"); t != "" {
		m, _, err := mime.ParseMediaType(t)
		if err != nil || (m != "application/json" && !strings.HasSuffix(m, "+json")) {
			return nil, newFailure(http.StatusUnsupportedMediaType, "not_json", "send Content-Type: application/json", "the content type %q is not JSON", t)
		}
	}
	return s.readRawBody(w, r)
}

// unmarshalOne decodes exactly one JSON value. Its errors are in plain words.
func unmarshalOne(b []byte, v any, strict bool) error {
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return newFailure(http.StatusBadRequest, "invalid", "send one JSON object", "there is data after the end of the JSON object")
	}
	f := newFailure(http.StatusBadRequest, "invalid", "see GET /api/v1/openapi.json for the accepted fields", "the body is not valid JSON for this request: %s", plainJSONError(err))
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		f.Message = "unknown field " + name
		f.Remedy = "the fields are " + jsonFieldNames(v)
	}
	return f
}

func plainJSONError(err error) string {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := t.Field
		if where == "" {
			where = "the body"
		}
		return fmt.Sprintf("%s must be %s, not %s", where, kindOf(t.Type), t.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 text"
		}
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "a number"
}

// jsonFieldNames returns the JSON field names of a struct.
func jsonFieldNames(v any) string {
	t := reflect.TypeOf(v).Elem()
	var out []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out = append(out, name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
