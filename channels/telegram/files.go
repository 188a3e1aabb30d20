package telegram

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"hob/channels"
	"hob/platform/net/safehttp"
)

// maxDownload is the maximum size in bytes of a file that bots can download; see
// https://core.telegram.org/bots/api#getfile.
const maxDownload = 20 << 20

// attachedFiles lists the files of a message. A picture has several sizes, of which the largest is
// used. Telegram also lists an animation as a document, so that document is skipped.
func (c *Channel) attachedFiles(m *message) []channels.File {
	var out []channels.File
	add := func(f *file, name, mime string) {
		if f == nil || f.ID == "" {
			return
		}
		if f.Name != "" {
			name = f.Name
		}
		if f.MIME != "" {
			mime = f.MIME
		}
		id, size := f.ID, f.Size
		out = append(out, channels.File{Name: name, MIME: mime, Size: size, Open: func(ctx context.Context) (io.ReadCloser, error) {
			return c.fetchFile(ctx, id, size)
		}})
	}
	var photo *file
	for i := range m.Photo {
		if p := &m.Photo[i]; photo == nil || p.Width*p.Height > photo.Width*photo.Height {
			photo = p
		}
	}
	add(photo, "photo.jpg", "image/jpeg")
	if m.Animation != nil {
		add(m.Animation, "animation.mp4", "video/mp4")
	} else {
		add(m.Document, "document", "")
	}
	add(m.Audio, "audio.mp3", "audio/mpeg")
	add(m.Video, "video.mp4", "video/mp4")
	add(m.VideoNote, "video.mp4", "video/mp4")
	add(m.Voice, "voice.ogg", "audio/ogg")
	return out
}

var errTooLarge = errors.New("telegram bots cannot download files larger than 20 MB; send the file in parts or through another channel")

// fetchFile downloads a file. getFile returns the path of the file on the same server.
func (c *Channel) fetchFile(ctx context.Context, id string, size int64) (io.ReadCloser, error) {
	if size > maxDownload {
		return nil, errTooLarge
	}
	var f struct {
		Size int64  `json:"file_size"`
		Path string `json:"file_path"`
	}
	if err := c.callMethod(ctx, "getFile", params{"file_id": id}, &f); err != nil {
		if hasRefusalText(err, "too big") {
			return nil, errTooLarge
		}
		return nil, err
	}
	path, ok := safePath(f.Path)
	if !ok {
		return nil, errors.New("telegram: the server returned no path for the file")
	}
	resp, err := c.client.Fetch(ctx, safehttp.Request{Method: http.MethodGet, URL: c.base + "/file/bot" + c.token + "/" + path, MaxBody: maxDownload, Timeout: timeLeft(ctx)})
	if err != nil {
		if e, ok := errors.AsType[*safehttp.Error](err); ok && e.Kind == safehttp.TooLarge {
			return nil, errTooLarge
		}
		return nil, c.classifyNoResponse("file", err)
	}
	if base, err := url.Parse(c.base); err != nil || resp.URL.Host != base.Host {
		return nil, errors.New("telegram: the file is on another server, so Hob does not fetch it")
	}
	if resp.Status != http.StatusOK {
		return nil, channels.Errorf(channels.Temporary, "telegram: download a file: the server answered %d %s", resp.Status, http.StatusText(resp.Status))
	}
	return io.NopCloser(bytes.NewReader(resp.Body)), nil
}

// safePath escapes a path so that it can only lead to a file below the bot's folder.
func safePath(p string) (string, bool) {
	parts := strings.Split(p, "/")
	for i, s := range parts {
		if s == "" || s == "." || s == ".." || strings.ContainsAny(s, `\:`) {
			return "", false
		}
		parts[i] = url.PathEscape(s)
	}
	return strings.Join(parts, "/"), true
}
