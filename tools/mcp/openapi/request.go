package openapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// Limits of a call.
const (
	maxBody     = 1 << 20
	maxResponse = 2 << 20
	maxURL      = 8_000
)

// Target contains the address, the client and the secrets for the requests of a document.
type Target struct {
	Base *url.URL
	// Client follows no redirects.
	Client *http.Client
	// Headers and Query are set by the configuration. They contain secrets.
	Headers, Query map[string]string
}

// Call sends the request of an operation and returns the response as text. The arguments are valid
// according to the operation's schema. If the service answers with an error status, Call returns an
// error.
func (t Target) Call(ctx context.Context, o Operation, args map[string]any) (string, error) {
	r, err := t.buildRequest(ctx, o, args)
	if err != nil {
		return "", err
	}
	resp, err := t.Client.Do(r)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok { // the text of ue contains the address, which may contain a secret
			err = ue.Err
		}
		unknown := ""
		if !o.ReadOnly() {
			unknown = "; it is unknown whether the request took effect"
		}
		return "", fmt.Errorf("%s %s: %w%s", o.Method, o.Path, err, unknown)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return "", fmt.Errorf("%s %s: the service redirects to another address (HTTP %d), which Hob does not follow; correct the url in the configuration", o.Method, o.Path, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return "", fmt.Errorf("%s %s: read the response: %w", o.Method, o.Path, err)
	}
	text := responseText(resp.Header.Get("Content-Type"), body)
	if resp.StatusCode >= 400 {
		return "", fmt.Errorf("%s %s: HTTP %d %s: %s", o.Method, o.Path, resp.StatusCode, http.StatusText(resp.StatusCode), text)
	}
	return cmp.Or(text, fmt.Sprintf("HTTP %d, no content", resp.StatusCode)), nil
}

// buildRequest returns the request of a call. Its address is below the base URL.
func (t Target) buildRequest(ctx context.Context, o Operation, args map[string]any) (*http.Request, error) {
	path, query, header := o.Path, url.Values{}, http.Header{}
	for _, p := range o.Parameters {
		v, ok := args[p.Argument]
		if !ok || v == nil {
			continue
		}
		values, err := formatArgument(v, p.Commas || p.In != "query")
		if err != nil {
			return nil, fmt.Errorf("the argument %s: %w", p.Argument, err)
		}
		switch p.In {
		case "path":
			if values[0] == "" || values[0] == "." || values[0] == ".." {
				return nil, fmt.Errorf("the argument %s must not be empty, \".\" or \"..\"", p.Argument)
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(values[0]))
		case "query":
			query[p.Name] = values
		case "header":
			if !httpguts.ValidHeaderFieldName(p.Name) || !httpguts.ValidHeaderFieldValue(values[0]) {
				return nil, fmt.Errorf("the argument %s is not a valid header", p.Argument)
			}
			header.Set(p.Name, values[0])
		}
	}
	if inPath.MatchString(path) {
		return nil, errors.New("an argument of the path is missing")
	}
	for name, v := range t.Query {
		query.Set(name, v)
	}
	u, err := url.Parse(strings.TrimSuffix(t.Base.Scheme+"://"+t.Base.Host+t.Base.EscapedPath(), "/") + path)
	if err != nil || u.Host != t.Base.Host || u.Scheme != t.Base.Scheme || u.User != nil {
		return nil, errors.New("the address of the request is not valid")
	}
	if u.RawQuery = query.Encode(); len(u.String()) > maxURL {
		return nil, errors.New("the arguments are too long for an address")
	}
	body, err := encodeBody(o.BodyType, args["body"])
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, o.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the request is not valid")
	}
	if body == nil {
		r.Body, r.GetBody, r.ContentLength = http.NoBody, nil, 0
	} else {
		header.Set("Content-Type", o.BodyType)
	}
	header.Set("Accept", "application/json, text/*;q=0.8, */*;q=0.1")
	header.Set("User-Agent", "Hob")
	for name, v := range t.Headers {
		header.Set(name, v)
	}
	r.Header = header
	return r, nil
}

// formatArgument returns the text of an argument, or of its elements if it is a list.
func formatArgument(v any, joined bool) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		s, err := formatScalar(v)
		return []string{s}, err
	}
	var out []string
	for _, x := range list {
		s, err := formatScalar(x)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if joined || len(out) == 0 {
		return []string{strings.Join(out, ",")}, nil
	}
	return out, nil
}

func formatScalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case json.Number:
		return v.String(), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// encodeBody returns the body in a media type, or nil if there is none.
func encodeBody(media string, v any) (out []byte, err error) {
	switch {
	case media == "" || v == nil:
		return nil, nil
	case media == textType:
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("the argument body must be text")
		}
		out = []byte(s)
	case media == formType:
		fields, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("the argument body must be an object")
		}
		form := url.Values{}
		for name, x := range fields {
			if form[name], err = formatArgument(x, false); err != nil {
				return nil, err
			}
		}
		out = []byte(form.Encode())
	default:
		if out, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	if len(out) > maxBody {
		return nil, fmt.Errorf("the body is larger than %d MB", maxBody>>20)
	}
	return out, nil
}

// responseText returns the text of a response.
func responseText(contentType string, body []byte) string {
	media, _, _ := mime.ParseMediaType(contentType)
	cut := ""
	if len(body) > maxResponse {
		body, cut = body[:maxResponse], fmt.Sprintf("\n(cut: more than %d MB)", maxResponse>>20)
	}
	var compact bytes.Buffer
	if strings.HasSuffix(media, "json") && json.Compact(&compact, body) == nil {
		return compact.String()
	}
	if !utf8.Valid(body) && cut == "" || bytes.IndexByte(body, 0) >= 0 {
		return fmt.Sprintf("(%d bytes of %s)", len(body), cmp.Or(media, "an unknown type"))
	}
	return strings.ToValidUTF8(string(body), "\uFFFD") + cut
}
