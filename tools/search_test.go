package tools_test

import (
	"testing"

	"hob/tools"
	"hob/tools/toolstest"
)

func TestRecall(t *testing.T) {
	c, err := tools.NewCatalogue(toolstest.Fixture(t, "testdata/search/specs.txt")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"development", "heldout"} {
		rows, missed := toolstest.Measure(c, toolstest.Requests(t, "testdata/search/"+set+".txt"))
		t.Log(set)
		for _, r := range rows {
			t.Log(r)
		}
		if set == "development" {
			for _, m := range missed {
				t.Log(m)
			}
		}
	}
}
