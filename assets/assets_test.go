package assets_test

import (
	"testing"
	"testing/fstest"

	"hob/assets"
)

func TestWeb(t *testing.T) {
	if err := fstest.TestFS(assets.Web(), "index.html", "app.js", "style.css", "icon.svg"); err != nil {
		t.Error(err)
	}
}
