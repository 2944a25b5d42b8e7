package service

import "testing"

// TestSaidAnew: a session that has the name of one that is gone is told of anew, others are not.
func TestSaidAnew(t *testing.T) {
	ctx := WithClient(t.Context(), Client{Name: "model"})
	var s said
	if !s.once(ctx, "a", "sampled") || !s.once(ctx, "ab", "sampled") || s.once(ctx, "a", "sampled") {
		t.Error("not told once")
	}
	s.forget("a")
	if !s.once(ctx, "a", "sampled") || s.once(ctx, "ab", "sampled") {
		t.Error("of a session that is gone it is held to be told, or of another it is not any more")
	}
}
