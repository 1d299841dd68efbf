package app

import "reflect"

// withoutNulls returns v with empty lists and maps where they are nil, so that a document has no null lists. What v
// points to is copied on the way to each such place, never changed.
func withoutNulls(v any) any {
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return v
	}
	out, _ := filled(r)
	return out.Interface()
}

// filled returns the value with empty lists for nil ones, and whether it is another value.
func filled(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		e, changed := filled(v.Elem())
		switch {
		case !changed:
			return v, false
		case v.Kind() == reflect.Interface:
			return e, true
		}
		p := reflect.New(e.Type())
		p.Elem().Set(e)
		return p, true
	case reflect.Slice:
		switch {
		case v.Type().Elem().Kind() == reflect.Uint8: // JSON that was made before
			return v, false
		case v.IsNil():
			return reflect.MakeSlice(v.Type(), 0, 0), true
		}
		out, different := v, false
		for i := range v.Len() {
			e, changed := filled(v.Index(i))
			if !changed {
				continue
			}
			if !different {
				out, different = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
				reflect.Copy(out, v)
			}
			out.Index(i).Set(e)
		}
		return out, different
	case reflect.Map:
		if v.IsNil() {
			return reflect.MakeMap(v.Type()), true
		}
		out, different := reflect.MakeMapWithSize(v.Type(), v.Len()), false
		for k, e := range v.Seq2() {
			e, changed := filled(e)
			different = different || changed
			out.SetMapIndex(k, e)
		}
		return out, different
	case reflect.Struct:
		return filledStruct(v)
	}
	return v, false
}

func filledStruct(v reflect.Value) (reflect.Value, bool) {
	out, different := v, false
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		e, changed := filled(v.Field(i))
		if !changed {
			continue
		}
		if !different {
			out, different = reflect.New(v.Type()).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(e)
	}
	return out, different
}
