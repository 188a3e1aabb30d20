package money

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"hob/knowledge"
	"hob/platform/host/ocr"
	"hob/platform/provenance"
)

// The picture is read by tesseract, which returns its two columns one after the other.
func TestReceipt_ReadsPhoto(t *testing.T) {
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("tesseract is not installed")
	}
	picture, err := os.ReadFile("testdata/receipt.png")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.d.Pictures = ocr.New(ocr.Options{})
	b.d.Read = func(_ context.Context, path string, _ int64) (knowledge.File, error) {
		return knowledge.File{Path: path, Content: picture, Source: provenance.Outside}, nil
	}
	b.loadTools()
	r := b.mustCall("parse_receipt", object{"path": "receipt.png", "log": true})
	if e := r.Data.(receiptOut).Expense; e == nil || e.Amount != "23.47" || e.Vendor != "MAXIMA LT, UAB" || e.Day != "2026-11-29" {
		t.Errorf("parse_receipt = %s", r.Text)
	}
}
