package integration

import "testing"

func TestByFolder(t *testing.T) {}
