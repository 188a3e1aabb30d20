package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/platform/net/safehttp"
)

// answer is the common part of all Web API responses (docs.slack.dev/apis/web-api/#responses).
type answer struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error"`
	Needed string `json:"needed"`
}

// refusal is an error response from Slack.
type refusal struct {
	method, code, needed string
}

func (r *refusal) Error() string {
	s := "slack: " + r.method + " was refused: " + r.code
	if r.needed != "" {
		s += ", missing scope " + r.needed
	}
	return s
}

// errorCode returns Slack's error code, or "" for other errors.
func errorCode(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.code
	}
	return ""
}

// maxAnswer is the maximum size of a response in bytes. It suffices for 200 messages with all their
// blocks.
const maxAnswer = 16 << 20

// callAPI calls the Web API. Arguments are form-encoded, which every method accepts. out may be
// nil. Errors are *channels.Error or the context's error.
func (c *Channel) callAPI(ctx context.Context, token, method string, args url.Values, out any) (http.Header, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": {"Bearer " + token}}
	resp, err := c.net.Fetch(ctx, safehttp.Request{Method: http.MethodPost, URL: c.at.API + method, Header: header, Body: []byte(args.Encode()), MaxBody: maxAnswer})
	if err != nil {
		return nil, c.classifyNoResponse(ctx, method, err)
	}
	return resp.Header, c.classifyResponse(method, resp, out, time.Now())
}

// classifyNoResponse classifies the error of a request without a response.
func (c *Channel) classifyNoResponse(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return channels.Unanswered("slack: "+method, err)
}

// classifyResponse classifies a response. A rate limit has status 429 and Retry-After in seconds
// (docs.slack.dev/apis/web-api/rate-limits).
func (c *Channel) classifyResponse(method string, resp *safehttp.Response, out any, now time.Time) error {
	retry := retryAfter(resp.Header, now)
	switch {
	case resp.Status == http.StatusTooManyRequests:
		e := channels.Errorf(channels.Later, "slack: %s: rate limit reached", method)
		e.RetryAt = retry
		return e
	case resp.Status == http.StatusServiceUnavailable && !retry.IsZero():
		e := channels.Errorf(channels.Later, "slack: %s: Slack is temporarily unavailable", method)
		e.RetryAt = retry
		return e
	case resp.Status >= 500:
		e := channels.Errorf(channels.Temporary, "slack: %s: Slack answered %d", method, resp.Status)
		e.MaybeSent = true
		return e
	}
	var a answer
	if err := json.Unmarshal(resp.Body, &a); err != nil {
		e := channels.Errorf(channels.Temporary, "slack: %s: Slack answered %d without JSON; check for a proxy or a sign-in page of this network", method, resp.Status)
		e.MaybeSent = resp.Status < 300
		return e
	}
	if !a.OK {
		return classifyCode(&refusal{method, sanitizeCode(a.Error), sanitizeCode(a.Needed)}, retry)
	}
	if out != nil {
		if err := json.Unmarshal(resp.Body, out); err != nil {
			e := channels.Errorf(channels.Temporary, "slack: %s: decode the response failed", method)
			e.MaybeSent = true
			return e
		}
	}
	return nil
}

func retryAfter(h http.Header, now time.Time) time.Time {
	n, err := strconv.ParseUint(strings.TrimSpace(h.Get("Retry-After")), 10, 31)
	if err != nil {
		return time.Time{}
	}
	return now.Add(time.Duration(n) * time.Second)
}

// sanitizeCode removes characters that are invalid in error codes and scopes.
func sanitizeCode(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_:.,-", r) {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), 80)]
}

const newToken = "set a new token: hob channel add slack"

// classifyCode maps Slack's error codes to classes, with a remedy. The codes are listed in
// docs.slack.dev/reference/methods.
func classifyCode(r *refusal, retry time.Time) error {
	class, remedy := channels.Temporary, ""
	switch r.code {
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "user_removed_from_team", "team_access_not_granted", "org_login_required", "ekm_access_denied":
		class, remedy = channels.Unauthorized, newToken
	case "not_allowed_token_type":
		class, remedy = channels.Unauthorized, "bot_token must start with xoxb- and app_token with xapp-; "+newToken
	case "missing_scope", "no_permission":
		class, remedy = channels.Unauthorized, "add the scope to the app under OAuth & Permissions, install the app again, and "+newToken
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return &channels.Error{Class: channels.Later, RetryAt: retry, Err: r}
	case "channel_not_found":
		class, remedy = channels.Permanent, "this chat no longer exists or Hob is not a member; write to Hob from the chat where it should answer"
	case "not_in_channel":
		class, remedy = channels.Permanent, "invite Hob there: /invite @hob"
	case "is_archived":
		class, remedy = channels.Permanent, "the channel is archived; write to Hob in another chat"
	case "user_not_found", "user_disabled", "cannot_dm_bot", "messages_tab_disabled":
		class, remedy = channels.Permanent, "messages cannot be sent there; enable messages under App Home of the app"
	case "restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel", "restricted_action_thread_locked", "restricted_action_non_threadable_channel", "access_denied", "as_user_not_supported":
		class, remedy = channels.Permanent, "the workspace does not allow Hob to write there; ask its administrator"
	case "msg_too_long", "no_text", "invalid_blocks", "invalid_blocks_format", "invalid_arguments", "invalid_form_data", "invalid_metadata_format", "metadata_too_large", "thread_not_found", "message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed", "file_not_found", "file_uploads_disabled", "storage_limit_reached", "blocked_file_type", "method_not_supported_for_channel_type", "channel_type_not_supported", "unknown_method", "user_not_in_channel":
		class = channels.Permanent
	}
	e := channels.Errorf(class, "%w", r)
	if remedy != "" {
		e = channels.Errorf(class, "%w; %s", r, remedy)
	}
	// These errors can occur after Slack has processed the request.
	e.MaybeSent = r.code == "internal_error" || r.code == "fatal_error" || r.code == "request_timeout"
	return e
}

// isSlackHost reports whether a URL is HTTPS on one of Slack's own hosts.
func (c *Channel) isSlackHost(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	safe := u.Scheme == "https" || u.Scheme == "wss" || c.at.Plain && (u.Scheme == "http" || u.Scheme == "ws")
	host := strings.ToLower(u.Hostname())
	return safe && (host == c.at.Domain || strings.HasSuffix(host, "."+c.at.Domain))
}
