package io.rmqalloc.live;

import com.alibaba.fastjson2.JSONObject;

/** Clients of 4.9.8 come without the administrator's tools; a process of another release is asked for those. */
final class Admin {
    Admin(String nameServer) {
    }

    String topic(JSONObject command) {
        throw new UnsupportedOperationException("no administrator's tools");
    }

    boolean group(JSONObject command) {
        throw new UnsupportedOperationException("no administrator's tools");
    }

    String mode(JSONObject command) {
        throw new UnsupportedOperationException("no administrator's tools");
    }

    void leave() {
    }
}
