// Package mcpresource implements watchers that fire when a resource of an MCP server changes. The
// server's announcements only cause a poll: a watcher fires if the content differs from the content
// at its last poll, so it also finds changes while Hob or the server was not running.
package mcpresource

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	setting "hob/platform/text/settings"
	"hob/platform/text/textnorm"
	"hob/watchers"
)

// Kind is the name of the kind.
const Kind = "mcpresource"

// maxURI is the maximum length of a URI, in bytes.
const maxURI = 2000

// config is the configuration of a watcher.
type config struct {
	Server string         `json:"server"`          // the name in [mcp.servers.NAME]
	URI    string         `json:"uri"`             // URI of the resource
	Words  watchers.Words `json:"words,omitempty"` // fire only if a changed line contains one of these
}

// Driver creates resource watchers.
type Driver struct{}

// New returns the driver.
func New() *Driver { return &Driver{} }

// Describe implements watchers.Driver.
func (*Driver) Describe() watchers.Description {
	return watchers.Description{
		Kind: Kind, Polled: true, Argument: "uri", Example: "--kind mcpresource file:///reports/today.md --set server=files",
		Options: "server (MCP), uri, words?", Keywords: "mcp server resource",
		Title: "MCP resource", Form: []setting.Setting{
			{Key: "server", Kind: setting.Text, Title: "MCP server", Help: `The name of a server on the page Channels.`},
			{Key: "uri", Kind: setting.Text, Title: "Address of the resource", Help: `file:///reports/today.md`},
			{Key: "words", Kind: setting.Text, List: true, Optional: true, Title: "Words", Help: `Only items with one of these words.`},
		},
	}
}

// Migrations implements watchers.Driver.
func (*Driver) Migrations() []store.MigrationSet { return nil }

// DescribeConfig implements watchers.Driver.
func (*Driver) DescribeConfig(raw json.RawMessage) string {
	c, err := parseConfig(raw)
	if err != nil {
		return "an unreadable resource"
	}
	text := "changes to the resource " + textnorm.Ellipsize(c.URI, 200) + " of the MCP server " + c.Server
	if len(c.Words) > 0 {
		text += " with " + c.Words.List()
	}
	return text
}

// Reach implements watchers.HostLister.
func (*Driver) Reach(raw json.RawMessage) (watchers.NetworkTargets, error) {
	c, err := parseConfig(raw)
	return watchers.NetworkTargets{Servers: []string{c.Server}}, err
}

// New implements watchers.Driver.
func (*Driver) New(spec watchers.Spec, deps watchers.Deps) (any, error) {
	c, err := parseConfig(spec.Config)
	if err != nil {
		return nil, err
	}
	if deps.Resources == nil {
		return nil, errors.New("mcpresource: MCP servers are not configured")
	}
	if err := deps.Resources.CheckServer(c.Server); err != nil {
		return nil, fmt.Errorf("mcpresource: %w", err)
	}
	return &resource{c, deps.Resources}, nil
}

func parseConfig(raw json.RawMessage) (config, error) {
	var c config
	if err := watchers.Decode(raw, &c); err != nil {
		return config{}, fmt.Errorf("mcpresource: %w", err)
	}
	c.Server, c.URI = strings.TrimSpace(c.Server), strings.TrimSpace(c.URI)
	switch {
	case c.Server == "":
		return config{}, errors.New(`mcpresource: "server" is missing; it is the name of an MCP server, see: hob mcp list`)
	case c.URI == "" || len(c.URI) > maxURI || strings.ContainsAny(c.URI, " \t\r\n"):
		return config{}, fmt.Errorf(`mcpresource: "uri" must be the URI of a resource, without spaces and at most %d bytes long; list them with: hob mcp resources %s`, maxURI, textnorm.Ellipsize(c.Server, 60))
	}
	return c, nil
}

// resource is one poll of a watcher.
type resource struct {
	config
	from watchers.Resources
}

// cursor is the state between polls.
type cursor struct {
	Digest  string `json:"digest"`
	Changes int    `json:"changes,omitempty"` // part of the key, so that a return to an earlier content is a new change
	Text    string `json:"text"`
}

// Every implements watchers.Polled.
func (*resource) Every() time.Duration { return 0 }

// Group implements watchers.Grouped.
func (r *resource) Group() string { return "mcp:" + r.Server }

// Topic implements watchers.TopicPolled.
func (r *resource) Topic() string { return watchers.ResourceTopic(r.Server, r.URI) }

// Poll implements watchers.Polled.
func (r *resource) Poll(ctx context.Context, at watchers.Progress) (watchers.Found, error) {
	var c cursor
	known := !at.First && json.Unmarshal(at.Cursor, &c) == nil && c.Digest != ""
	now, err := r.from.WatchResource(ctx, r.Server, r.URI)
	if err != nil {
		return watchers.Found{}, err
	}
	found := watchers.Found{}
	switch {
	case !known:
		c = cursor{}
	case c.Digest != now.Digest:
		c.Changes++
		s, fits, err := r.changeSignal(at.Begun, c, now)
		if err != nil {
			return watchers.Found{}, err
		}
		if fits {
			found.Signals = append(found.Signals, s)
		} else {
			found.Passed = append(found.Passed, watchers.SuppressedSignal{Rule: watchers.RuleCondition, Key: s.Key, Text: s.Text, Why: watchers.FilterReason(r.Words, nil)})
		}
	}
	c.Digest, c.Text = now.Digest, now.Text
	found.Cursor, err = json.Marshal(c)
	return found, err
}

// changeSignal returns the signal for the change since the cursor's content, and whether the change
// contains one of the requested words.
func (r *resource) changeSignal(begun time.Time, c cursor, now watchers.Resource) (s watchers.Signal, fits bool, err error) {
	gone, come := watchers.ChangedLines(watchers.TextLines(c.Text), watchers.TextLines(now.Text))
	brief := ""
	if len(gone)+len(come) > 0 {
		brief = watchers.BriefChange(gone, come)
	}
	payload, err := json.Marshal(map[string]any{
		"server": r.Server, "uri": r.URI, "size": now.Size, "diff": watchers.FormatDiff(gone, come), "removed": len(gone), "added": len(come),
	})
	return watchers.Signal{
		Key:  fmt.Sprintf("%d:%d:%.24s", begun.UnixMilli(), c.Changes, now.Digest),
		Text: "Changed: " + textnorm.Ellipsize(r.URI, 100) + " of " + r.Server + ": " + cmp.Or(brief, fmt.Sprintf("new content of %d bytes", now.Size)), Payload: payload, Source: provenance.Outside,
	}, len(r.Words) == 0 || r.Words.MatchesText(strings.Join(gone, "\n")+"\n"+strings.Join(come, "\n")), err
}
