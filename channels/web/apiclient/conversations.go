package apiclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"hob/autonomy/api"
	"hob/channels/web"
)

const (
	sessionsPath = "/api/v1/sessions"
	noticesPath  = "/api/v1/notices"
	managePath   = "/api/v1/manage"
)

// Reply is the answer to one message, or the approval requests that its turn is waiting for.
type Reply struct {
	api.Answered

	Approvals []api.Approval `json:"approvals,omitempty"`
}

// Send sends a message and waits until it is answered or its turn is waiting for the user.
func (c *Client) Send(ctx context.Context, session string, m web.Message) (Reply, error) {
	return postValue[Reply](ctx, c, inPath(sessionsPath, session)+"/messages", m)
}

// Event implements api.Turns.
func (c *Client) Event(ctx context.Context, id string) (api.EventStatus, error) {
	return getValue[api.EventStatus](ctx, c, inPath("/api/v1/inbox", id), nil)
}

// Inbox implements api.Turns.
func (c *Client) Inbox(ctx context.Context, q api.Query) ([]api.Event, error) {
	return getValue[[]api.Event](ctx, c, "/api/v1/inbox", listValues(q, "session", "state"))
}

// Stop implements api.Turns.
func (c *Client) Stop(ctx context.Context, session string) (api.Stopped, error) {
	return postValue[api.Stopped](ctx, c, managePath+"/stop", web.SessionRequest{Session: session})
}

// Deliveries implements api.Deliveries.
func (c *Client) Deliveries(ctx context.Context, q api.Query) ([]api.Delivery, error) {
	return getValue[[]api.Delivery](ctx, c, "/api/v1/deliveries", listValues(q, "session", "state"))
}

// ReportShown reports that this client displays a delivery, so that a bare yes can answer it.
func (c *Client) ReportShown(ctx context.Context, delivery string) error {
	_, err := postValue[web.Shown](ctx, c, inPath("/api/v1/deliveries", delivery)+"/shown", struct{}{})
	return err
}

// Why implements api.Explanations.
func (c *Client) Why(ctx context.Context, kind, about string) (api.Explanation, error) {
	return getValue[api.Explanation](ctx, c, "/api/v1/why", values("kind", kind, "id", about))
}

// Sessions implements api.Sessions.
func (c *Client) Sessions(ctx context.Context, q api.Query) ([]api.Session, error) {
	return getValue[[]api.Session](ctx, c, sessionsPath, listValues(q, "session", "state"))
}

// Messages implements api.Sessions.
func (c *Client) Messages(ctx context.Context, q api.Query) ([]api.ChatLine, error) {
	path := inPath(sessionsPath, q.Of) + "/messages"
	q.Of = ""
	return getValue[[]api.ChatLine](ctx, c, path, listValues(q, "session", "state"))
}

// Search implements api.Sessions.
func (c *Client) Search(ctx context.Context, q api.SearchQuery) ([]api.FoundMessage, error) {
	return getValue[[]api.FoundMessage](ctx, c, sessionsPath+"/search", values(
		"q", q.Text, "session", q.Session, "who", q.Who, "since", timeText(q.Since), "until", timeText(q.Until), "limit", countText(q.Limit),
	))
}

// Export implements api.Sessions.
func (c *Client) Export(ctx context.Context, session, format string, w io.Writer) error {
	return c.copyBody(ctx, w, inPath(sessionsPath, session)+"/export", values("format", format))
}

// Fork implements api.Sessions.
func (c *Client) Fork(ctx context.Context, session, to, at string) (api.Session, error) {
	return postValue[api.Session](ctx, c, inPath(sessionsPath, session)+"/fork", web.ForkRequest{Session: to, At: at})
}

// Replay implements api.Sessions.
func (c *Client) Replay(ctx context.Context, session, turn string) (api.Replay, error) {
	return postValue[api.Replay](ctx, c, inPath(sessionsPath, session)+"/replay", web.ReplayRequest{Turn: turn})
}

// Reset implements api.Sessions.
func (c *Client) Reset(ctx context.Context, session string) (api.ResetSession, error) {
	return postValue[api.ResetSession](ctx, c, managePath+"/new", web.SessionRequest{Session: session})
}

// Compact implements api.Sessions.
func (c *Client) Compact(ctx context.Context, session string) (api.Compaction, error) {
	return postValue[api.Compaction](ctx, c, managePath+"/compact", web.SessionRequest{Session: session})
}

// Approvals implements api.Approvals.
func (c *Client) Approvals(ctx context.Context, q api.Query) ([]api.Approval, error) {
	return getValue[[]api.Approval](ctx, c, "/api/v1/approvals", listValues(q, "session", "state"))
}

// Answer implements api.Approvals. The server does not check the session in the path; the id
// identifies the request or the batch.
func (c *Client) Answer(ctx context.Context, id string, a api.Answer) (api.Decision, error) {
	in := web.DecisionRequest{Approved: &a.Approved, Scope: a.Scope, Expires: a.Expires, Uses: a.Uses, Note: a.Note, Beforehand: a.Beforehand}
	raw, err := postValue[json.RawMessage](ctx, c, inPath(sessionsPath, "any", "approvals", id), in)
	if err != nil {
		return api.Decision{}, err
	}
	var d api.Decision
	if d.Batch = json.Unmarshal(raw, &d.Approvals) == nil; !d.Batch {
		d.Approvals = make([]api.Approval, 1)
		err = json.Unmarshal(raw, &d.Approvals[0])
	}
	return d, err
}

// Grants implements api.Approvals.
func (c *Client) Grants(ctx context.Context, q api.Query) ([]api.Grant, error) {
	return getValue[[]api.Grant](ctx, c, "/api/v1/grants", listValues(q, "session", "state"))
}

// Grant implements api.Approvals.
func (c *Client) Grant(ctx context.Context, g api.NewGrant) (api.Grant, error) {
	return postValue[api.Grant](ctx, c, "/api/v1/grants", g)
}

// Revoke implements api.Approvals.
func (c *Client) Revoke(ctx context.Context, grant, _ string) (api.Grant, error) {
	return postValue[api.Grant](ctx, c, inPath("/api/v1/grants", grant)+"/revoke", struct{}{})
}

// Clients implements api.Clients.
func (c *Client) Clients(ctx context.Context, q api.Query) ([]api.Client, error) {
	return getValue[[]api.Client](ctx, c, "/api/v1/clients", values("kind", q.State))
}

// CreateClient implements api.Clients.
func (c *Client) CreateClient(ctx context.Context, n api.NewClient) (api.ClientToken, error) {
	return postValue[api.ClientToken](ctx, c, "/api/v1/clients", n)
}

// RevokeClient implements api.Clients.
func (c *Client) RevokeClient(ctx context.Context, kind, client string) (api.Client, error) {
	return postValue[api.Client](ctx, c, inPath(inPath("/api/v1/clients", kind), client)+"/revoke", struct{}{})
}

// Channels implements api.Channels.
func (c *Client) Channels(ctx context.Context) ([]api.Channel, error) {
	return getValue[[]api.Channel](ctx, c, "/api/v1/channels", nil)
}

// Pair implements api.Channels.
func (c *Client) Pair(ctx context.Context, channel, _ string) (api.PairingCode, error) {
	return postValue[api.PairingCode](ctx, c, inPath("/api/v1/channels", channel)+"/pair", struct{}{})
}

// Unpair implements api.Channels.
func (c *Client) Unpair(ctx context.Context, pairing, _ string) (api.Pairing, error) {
	return postValue[api.Pairing](ctx, c, inPath("/api/v1/pairings", pairing)+"/remove", struct{}{})
}

// TestChannel implements api.Channels.
func (c *Client) TestChannel(ctx context.Context, channel string, send bool) (api.ChannelTest, error) {
	return postValue[api.ChannelTest](ctx, c, inPath("/api/v1/channels", channel)+"/test", web.ChannelTestRequest{Send: send})
}

// Notices implements api.Notices.
func (c *Client) Notices(ctx context.Context, q api.Query) ([]api.Notice, error) {
	return getValue[[]api.Notice](ctx, c, noticesPath, listValues(q, "id", "state"))
}

// ReleaseNotices implements api.Notices.
func (c *Client) ReleaseNotices(ctx context.Context, id string) (api.Released, error) {
	return postValue[api.Released](ctx, c, noticesPath+"/release", web.NoticeRequest{ID: id})
}

// SnoozeNotice implements api.Notices.
func (c *Client) SnoozeNotice(ctx context.Context, id, until string) (api.Notice, error) {
	return postValue[api.Notice](ctx, c, noticesPath+"/snooze", web.NoticeRequest{ID: id, For: until})
}

// SetQuiet implements api.Notices.
func (c *Client) SetQuiet(ctx context.Context, until string) (api.Quiet, error) {
	return postValue[api.Quiet](ctx, c, noticesPath+"/quiet", web.NoticeRequest{For: until})
}

// SetPause implements api.Notices.
func (c *Client) SetPause(ctx context.Context, until string) (api.Pause, error) {
	return postValue[api.Pause](ctx, c, "/api/v1/pause", web.PauseRequest{For: until})
}

// Triggers implements api.Triggers.
func (c *Client) Triggers(ctx context.Context) ([]api.Trigger, error) {
	return getValue[[]api.Trigger](ctx, c, "/api/v1/triggers", nil)
}

// Fire implements api.Triggers. With an empty key, every call fires the trigger.
func (c *Client) Fire(ctx context.Context, trigger, key string, payload []byte) (out api.Fired, err error) {
	r := request{method: http.MethodPost, path: inPath("/api/v1/triggers", trigger) + "/fire", body: payload}
	if key != "" {
		r.header = map[string]string{"Idempotency-Key": key}
	}
	err = c.callJSON(ctx, r, &out)
	return out, err
}

// LoginLink creates a link that logs in a browser once. If here is set, only a browser on this
// machine can use it.
func (c *Client) LoginLink(ctx context.Context, here bool) (web.LoginLink, error) {
	return postValue[web.LoginLink](ctx, c, "/api/v1/login", web.LinkRequest{Here: here})
}

// Ready returns nil while the daemon accepts messages.
func (c *Client) Ready(ctx context.Context) error {
	_, err := getValue[web.Readiness](ctx, c, "/readyz", url.Values{})
	return err
}
