package alexa

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/platform/safehttp"
)

// Until the answer has come Alexa can be asked to say that it takes a moment
// (developer.amazon.com/docs/alexa/custom-skills/send-the-user-a-progressive-response.html).
// It gives no more time: 8 seconds it is.
const (
	slow     = 2 * time.Second // after which she says so
	tells    = 3               // the part of the time to wait that telling her may take
	apiHosts = ".amazonalexa.com"
)

// directives is the address to which a progressive response is posted, "" when the
// request names none of Amazon's.
func directives(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host != u.Hostname() || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" ||
		!strings.HasSuffix(strings.ToLower(u.Host), apiHosts) {
		return ""
	}
	return "https://" + strings.ToLower(u.Host) + "/v1/directives"
}

// progress has Alexa say that it takes a moment. That it fails harms nobody.
func (c *Channel) progress(ctx context.Context, q *request) {
	at := directives(q.Context.System.Endpoint)
	if at == "" || q.Context.System.Token == "" {
		return
	}
	body, err := json.Marshal(map[string]any{
		"header":    map[string]string{"requestId": q.Request.ID},
		"directive": map[string]string{"type": "VoicePlayer.Speak", "speech": spoken(moment).SSML},
	})
	if err != nil {
		return // texts always encode
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait/tells)
	defer cancel()
	resp, err := c.proof.network.Fetch(ctx, safehttp.Request{
		Method: http.MethodPost, URL: at, Body: body, MaxBody: 16 << 10,
		Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + q.Context.System.Token}},
	})
	switch {
	case err != nil:
		c.log.Debug("progressive response failed", "error", err)
	case resp.Status >= http.StatusMultipleChoices:
		c.log.Debug("progressive response failed", "status", resp.Status)
	}
}
