// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.List;
import org.apache.rocketmq.remoting.pipeline.RequestPipeline;

/** What a transport of 5 has besides: nothing happens. */
public abstract class QuietTransport extends SilentTransport {
    @Override
    public void setRequestPipeline(RequestPipeline pipeline) {
    }

    @Override
    public void clearRPCHook() {
    }

    @Override
    public List<String> getAvailableNameSrvList() {
        return getNameServerAddressList();
    }

    @Override
    public boolean isAddressReachable(String address) {
        return true;
    }

    @Override
    public void closeChannels(List<String> addresses) {
    }
}
