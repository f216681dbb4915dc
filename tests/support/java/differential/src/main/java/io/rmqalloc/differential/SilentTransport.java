// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.List;
import java.util.concurrent.ExecutorService;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.RemotingClient;
import org.apache.rocketmq.remoting.netty.NettyRequestProcessor;

/** What a transport of every release has besides requests: nothing happens. */
public abstract class SilentTransport implements RemotingClient {
    @Override
    public void start() {
    }

    @Override
    public void shutdown() {
    }

    @Override
    public void registerRPCHook(RPCHook hook) {
    }

    @Override
    public void updateNameServerAddressList(List<String> addresses) {
    }

    @Override
    public List<String> getNameServerAddressList() {
        return List.of("name server");
    }

    @Override
    public void setCallbackExecutor(ExecutorService executor) {
    }

    @Override
    public boolean isChannelWritable(String address) {
        return true;
    }

    @Override
    public abstract void registerProcessor(int code, NettyRequestProcessor processor, ExecutorService executor);
}
