package activity

import "testing"

func TestLocationParts(t *testing.T) {
	path, line, fn := SplitLocation("a/b.py:12 f g")
	if path != "a/b.py" || line != "12" || fn != "f g" {
		t.Errorf("locationParts = %q %q %q", path, line, fn)
	}
	for _, s := range []string{"unresolved", "graph replay", ""} {
		if path, line, fn := SplitLocation(s); path+line+fn != "" {
			t.Errorf("locationParts(%q) = %q %q %q, want none", s, path, line, fn)
		}
	}
}

// TestClassesOfInstances: profilers number the instances of a module; no other end of a name is cut off.
func TestClassesOfInstances(t *testing.T) {
	for name, want := range map[string]string{
		"nn.Module: A_0": "A", "nn.Module: Qwen3Attention_12": "Qwen3Attention",
		"nn.Module: Qwen3_Attention": "Qwen3_Attention", "nn.Module: _7": "_7", "nn.Module: A_": "A_", "forward": "",
	} {
		if got := ModuleClass(name); got != want {
			t.Errorf("class of %q: %q, want %q", name, got, want)
		}
	}
}
