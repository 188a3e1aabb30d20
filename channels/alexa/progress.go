package alexa

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hob/platform/net/safehttp"
)

// While the answer is pending, Hob can make Alexa say that the answer takes a moment
// (developer.amazon.com/docs/alexa/custom-skills/send-the-user-a-progressive-response.html). The
// answer is still due within 8 s.
const (
	slow     = 2 * time.Second // time until Alexa says that the answer takes a moment
	tells    = 3               // divisor: sending the progress message may take 1/3 of the waiting time
	apiHosts = ".amazonalexa.com"
)

// directivesURL returns the URL for progressive responses, or "" if the endpoint is not an Amazon
// host.
func directivesURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host != u.Hostname() || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" ||
		!strings.HasSuffix(strings.ToLower(u.Host), apiHosts) {
		return ""
	}
	return "https://" + strings.ToLower(u.Host) + "/v1/directives"
}

// sendProgress makes Alexa say that the answer takes a moment. It ignores errors, because the
// answer follows anyway.
func (c *Channel) sendProgress(ctx context.Context, q *request) {
	at := directivesURL(q.Context.System.Endpoint)
	if at == "" || q.Context.System.Token == "" {
		return
	}
	body, err := json.Marshal(map[string]any{
		"header":    map[string]string{"requestId": q.Request.ID},
		"directive": map[string]string{"type": "VoicePlayer.Speak", "speech": plainSpeech(moment).SSML},
	})
	if err != nil {
		return // strings can always be encoded
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
