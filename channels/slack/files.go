package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"hob/channels"
	"hob/platform/net/safehttp"
)

// file is a file in a message (docs.slack.dev/reference/objects/file-object).
type file struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mimetype"`
	Size int64  `json:"size"`
	URL  string `json:"url_private_download"`
	Page string `json:"url_private"`
}

// toFile converts a file for download. Only Slack's own hosts are used, because the request
// contains the token.
func (c *Channel) toFile(f file) channels.File {
	return channels.File{Name: f.Name, MIME: f.MIME, Size: max(f.Size, 0), Open: func(ctx context.Context) (io.ReadCloser, error) {
		return c.fetchFile(ctx, f)
	}}
}

func (c *Channel) fetchFile(ctx context.Context, f file) (io.ReadCloser, error) {
	if f.URL == "" && f.Page == "" && isID(f.ID) { // a file in another workspace: "check_file_info"
		var out struct {
			File file `json:"file"`
		}
		if _, err := c.callAPI(ctx, c.bot, "files.info", url.Values{"file": {f.ID}}, &out); err != nil {
			return nil, err
		}
		f.URL, f.Page, f.Size = out.File.URL, out.File.Page, out.File.Size
	}
	at := f.URL
	if at == "" {
		at = f.Page
	}
	if !c.isSlackHost(at) {
		return nil, channels.Errorf(channels.Permanent, "slack: the file %q is not on a Slack host, so Hob does not fetch it", f.Name)
	}
	resp, err := c.net.Fetch(ctx, safehttp.Request{URL: at, Header: http.Header{"Authorization": {"Bearer " + c.bot}}, MaxBody: maxFile, Timeout: channels.TransferTimeout(f.Size)})
	if err != nil {
		return nil, c.classifyNoResponse(ctx, "a file", err)
	}
	switch kind := resp.Header.Get("Content-Type"); {
	case !c.isSlackHost(resp.URL.String()):
		return nil, channels.Errorf(channels.Permanent, "slack: the file %q is not on a Slack host, so Hob does not fetch it", f.Name)
	case resp.Status != http.StatusOK:
		return nil, fmt.Errorf("slack: fetch a file: Slack answered %d", resp.Status)
	case strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(f.MIME, "text/html"):
		// Without read access, Slack returns the sign-in page.
		return nil, channels.Errorf(channels.Unauthorized, "slack: Slack did not return the file; check that the app has the scope files:read")
	}
	return io.NopCloser(bytes.NewReader(resp.Body)), nil
}

// shareFiles uploads files to a chat: it requests the upload URLs, uploads the files, and then
// publishes all of them together (docs.slack.dev/messaging/working-with-files#uploading_files).
func (c *Channel) shareFiles(ctx context.Context, d channels.Delivery) error {
	type done struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	var all []done
	for _, a := range d.Files {
		id, err := c.uploadFile(ctx, a)
		if err != nil {
			return err
		}
		all = append(all, done{id, a.Name})
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return channels.Errorf(channels.Permanent, "slack: send files: %w", err)
	}
	channel, thread, _ := strings.Cut(d.Chat, "/")
	args := url.Values{"files": {string(raw)}, "channel_id": {channel}}
	if thread != "" {
		args.Set("thread_ts", thread)
	}
	_, err = c.callAPI(ctx, c.bot, "files.completeUploadExternal", args, nil)
	return needsFiles(err)
}

func (c *Channel) uploadFile(ctx context.Context, a channels.Attachment) (string, error) {
	if a.Size > maxFile {
		return "", channels.Errorf(channels.Permanent, "slack: the file %q is larger than 32 MB", a.Name)
	}
	body, err := os.ReadFile(a.Path)
	if err != nil {
		return "", channels.Errorf(channels.Permanent, "slack: read the file %q: %w", a.Name, err)
	}
	var to struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	args := url.Values{"filename": {a.Name}, "length": {strconv.Itoa(len(body))}}
	if _, err := c.callAPI(ctx, c.bot, "files.getUploadURLExternal", args, &to); err != nil {
		return "", needsFiles(err)
	}
	if !c.isSlackHost(to.URL) {
		return "", channels.Errorf(channels.Permanent, "slack: upload address of the file %q is not a Slack host", a.Name)
	}
	resp, err := c.net.Fetch(ctx, safehttp.Request{Method: http.MethodPost, URL: to.URL, Header: http.Header{"Content-Type": {"application/octet-stream"}}, Body: body, MaxBody: 4096, Partial: true, Timeout: channels.TransferTimeout(a.Size)})
	if err != nil {
		err := c.classifyNoResponse(ctx, "a file", err)
		if e, ok := errors.AsType[*channels.Error](err); ok {
			e.MaybeSent = false // the file has not been published yet
		}
		return "", err
	}
	if resp.Status != http.StatusOK {
		return "", fmt.Errorf("slack: upload a file: Slack answered %d", resp.Status)
	}
	return to.ID, nil
}

// needsFiles converts a missing scope into a permanent error for this delivery only, because
// messages work without the scopes for files.
func needsFiles(err error) error {
	if errorCode(err) == "missing_scope" {
		return channels.Errorf(channels.Permanent, "%w", errors.Unwrap(err))
	}
	return err
}
