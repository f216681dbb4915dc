// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.witness;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Just enough JSON, kept by hand because it has to be exact: a lone surrogate must come in and go out as it is, and the
 * text written is pure ASCII. Whole numbers are read as Long; objects keep their order and may not repeat a key.
 */
public final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    public static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.next() != '\0') {
            throw json.unexpected();
        }
        return value;
    }

    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    /** The next character that is not white space, not consumed; NUL at the end of the text. */
    private char next() {
        while (at < text.length() && text.charAt(at) <= ' ') {
            at++;
        }
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private boolean take(char wanted) {
        boolean found = next() == wanted;
        at += found ? 1 : 0;
        return found;
    }

    private void need(char wanted) {
        if (!take(wanted)) {
            throw unexpected();
        }
    }

    private IllegalStateException unexpected() {
        return new IllegalStateException("not the JSON this program reads, at " + at + " of " + text.length());
    }

    private Object value() {
        return switch (next()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) {
            throw unexpected();
        }
        at += word.length();
        return meaning;
    }

    private Long number() {
        int start = at;
        while (at < text.length() && "-0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        if (start == at) {
            throw unexpected();
        }
        return Long.valueOf(text.substring(start, at));
    }

    private Map<String, Object> object() {
        Map<String, Object> object = new LinkedHashMap<>();
        need('{');
        while (!take('}')) {
            if (!object.isEmpty()) {
                need(',');
            }
            next();
            String key = string();
            need(':');
            if (object.containsKey(key)) {
                throw new IllegalStateException("key given twice: " + key);
            }
            object.put(key, value());
        }
        return object;
    }

    private List<Object> array() {
        List<Object> array = new ArrayList<>();
        need('[');
        while (!take(']')) {
            if (!array.isEmpty()) {
                need(',');
            }
            array.add(value());
        }
        return array;
    }

    private String string() {
        StringBuilder string = new StringBuilder();
        need('"');
        for (char unit = text.charAt(at++); unit != '"'; unit = text.charAt(at++)) {
            string.append(unit == '\\' ? escape() : unit);
        }
        return string.toString();
    }

    private char escape() {
        char letter = text.charAt(at++);
        if (letter == 'u') {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        int known = "bfnrt".indexOf(letter);
        return known < 0 ? letter : "\b\f\n\r\t".charAt(known);
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof String string) {
            writeString(string, out);
        } else if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                writeString((String) entry.getKey(), out.append(before));
                write(entry.getValue(), out.append(':'));
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String before = "[";
            for (Object item : list) {
                write(item, out.append(before));
                before = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else {
            out.append(value);
        }
    }

    private static void writeString(String string, StringBuilder out) {
        out.append('"');
        for (char unit : string.toCharArray()) {
            if (unit < ' ' || unit > '~' || unit == '"' || unit == '\\') {
                out.append(String.format("\\u%04x", (int) unit));
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }
}
