// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

/** A pattern of whole texts: a star stands for any characters, a question mark for one, everything else for itself. */
final class Glob {
    private final int[] pattern;

    Glob(String pattern) {
        this.pattern = pattern.codePoints().toArray();
    }

    boolean matches(String text) {
        int[] characters = text.codePoints().toArray();
        int p = 0;
        int star = -1; // the last star, and how many characters of the text it and all before it have taken
        int taken = 0;
        for (int i = 0; i < characters.length; ) {
            if (p < pattern.length && pattern[p] == '*') {
                star = p++;
                taken = i;
            } else if (p < pattern.length && (pattern[p] == '?' || pattern[p] == characters[i])) {
                p++;
                i++;
            } else if (star >= 0) {
                p = star + 1;
                i = ++taken;
            } else {
                return false;
            }
        }
        while (p < pattern.length && pattern[p] == '*') {
            p++;
        }
        return p == pattern.length;
    }
}
