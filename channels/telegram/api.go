package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
)

// params holds the parameters of a Bot API method.
type params map[string]any

// answer is the common part of all responses; see
// https://core.telegram.org/bots/api#making-requests.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// refusal is an error response from the Bot API.
type refusal struct {
	method, said string
	code         int
	migrateTo    int64
	remedy       string
}

func (r *refusal) Error() string {
	s := fmt.Sprintf("telegram: %s: the server answered %d: %s", r.method, r.code, r.said)
	if r.remedy != "" {
		s += "; " + r.remedy
	}
	return s
}

// hasRefusalText reports whether err is a refusal that contains one of words.
func hasRefusalText(err error, words ...string) bool {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return false
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(r.said), w) {
			return true
		}
	}
	return false
}

const maxAnswer = 8 << 20 // enough for 100 updates of a few kilobytes each

// callMethod calls a Bot API method and decodes its result into out.
func (c *Channel) callMethod(ctx context.Context, method string, p params, out any) error {
	body, err := json.Marshal(p)
	if err != nil {
		return channels.Errorf(channels.Permanent, "telegram: %s: encode: %w", method, err)
	}
	return c.postRequest(ctx, method, "application/json", body, out)
}

// postRequest sends a request. The URL contains the token, so errors contain only the host.
func (c *Channel) postRequest(ctx context.Context, method, kind string, body []byte, out any) error {
	resp, err := c.client.Fetch(ctx, safehttp.Request{
		Method: http.MethodPost, URL: c.base + "/bot" + c.token + "/" + method,
		Header: http.Header{"Content-Type": {kind}}, Body: body, MaxBody: maxAnswer, Timeout: timeLeft(ctx),
	})
	if err != nil {
		return c.classifyNoResponse(method, err)
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		e := channels.Errorf(channels.Temporary, "telegram: %s: the server answered %d, not in the format of the Bot API", method, resp.Status)
		e.MaybeSent = resp.Status < 300 || resp.Status >= 500
		return e
	}
	if !a.OK {
		return c.classifyRefusal(method, resp.Status, a)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, out); err != nil {
		e := channels.Errorf(channels.Temporary, "telegram: %s: decode the result: %w", method, err)
		e.MaybeSent = true
		return e
	}
	return nil
}

// timeLeft returns the timeout for a request, derived from the context's deadline, because long
// polls and large files need long timeouts. It returns 0 without a deadline.
func timeLeft(ctx context.Context) time.Duration {
	until, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(until), time.Millisecond)
}

// classifyNoResponse classifies the error of a request without a response.
func (c *Channel) classifyNoResponse(method string, err error) error {
	return channels.Unanswered("telegram: "+method, err)
}

// classifyRefusal classifies an error response.
func (c *Channel) classifyRefusal(method string, status int, a answer) error {
	if a.Code == 0 {
		a.Code = status
	}
	r := &refusal{method: method, code: a.Code, said: c.redactToken(quoteFirstLine(a.Description)), migrateTo: a.Parameters.MigrateTo}
	out := &channels.Error{Class: channels.Permanent, Err: r}
	switch {
	case a.Code == http.StatusUnauthorized, a.Code == http.StatusNotFound:
		out.Class, r.remedy = channels.Unauthorized, "set a new token: hob channel add telegram"
	case a.Code == http.StatusForbidden:
		r.remedy = "unblock the bot in the direct chat or invite it to the group again"
	case a.Code == http.StatusConflict:
		out.Class, r.remedy = channels.Temporary, "another program polls with this token; stop it or create a separate bot for Hob with @BotFather"
		if strings.Contains(strings.ToLower(a.Description), "webhook") {
			r.remedy = "another program has set a webhook; " + takeHookAway
		}
	case a.Code == http.StatusTooManyRequests:
		out.Class = channels.Later
		out.RetryAt = time.Now().Add(time.Duration(max(a.Parameters.RetryAfter, 1)) * time.Second)
	case a.Code >= 500:
		out.Class, out.MaybeSent = channels.Temporary, true
	}
	return out
}

// redactToken removes the token from text that the server sent.
func (c *Channel) redactToken(s string) string {
	_, secret, _ := strings.Cut(c.token, ":")
	return strings.NewReplacer(c.token, "[redacted]", url.PathEscape(c.token), "[redacted]", secret, "[redacted]").Replace(s)
}

// quoteFirstLine returns the first line of text that the server sent, sanitized for use in an
// error.
func quoteFirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "")), "\n")
	if r := []rune(line); len(r) > 200 {
		line = string(r[:200]) + "..."
	}
	return line
}

// sendForm sends a request with a file; see https://core.telegram.org/bots/api#sending-files.
func (c *Channel) sendForm(ctx context.Context, method string, fields map[string]string, field string, a channels.Attachment, out any) error {
	kind, body, err := encodeForm(fields, field, a)
	if err != nil {
		return channels.Errorf(channels.Permanent, "telegram: the file %s: %w", a.Name, err)
	}
	return c.postRequest(ctx, method, kind, body, out)
}

func encodeForm(fields map[string]string, field string, a channels.Attachment) (kind string, body []byte, err error) {
	f, err := os.Open(a.Path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var b bytes.Buffer
	b.Grow(int(min(max(a.Size, 0), maxFile)) + 16<<10) // allocate once for a large file
	w := multipart.NewWriter(&b)
	for k, v := range fields {
		if err := w.WriteField(k, v); err != nil {
			return "", nil, err
		}
	}
	part, err := w.CreateFormFile(field, a.Name)
	if err != nil {
		return "", nil, err
	}
	switch n, err := io.Copy(part, io.LimitReader(f, maxFile+1)); {
	case err != nil:
		return "", nil, err
	case n > maxFile:
		return "", nil, fmt.Errorf("larger than the limit of %d MB", maxFile>>20)
	}
	err = w.Close()
	return w.FormDataContentType(), b.Bytes(), err
}
